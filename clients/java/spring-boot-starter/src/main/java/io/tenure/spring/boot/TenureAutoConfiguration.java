package io.tenure.spring.boot;

import io.tenure.client.TenureClient;
import org.springframework.aop.Advisor;
import org.springframework.aop.support.DefaultPointcutAdvisor;
import org.springframework.aop.support.annotation.AnnotationMatchingPointcut;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.ConfigurableBeanFactory;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Role;
import org.springframework.context.expression.BeanFactoryResolver;

/** A client, which is closed with the program, and the advice of {@link DistributedLock} and {@link LeaderOnly}. */
@AutoConfiguration(after = TenureMetricsAutoConfiguration.class)
@EnableConfigurationProperties(TenureProperties.class)
public class TenureAutoConfiguration {
    @Bean(destroyMethod = "close")
    @ConditionalOnMissingBean
    TenureClient tenureClient(TenureProperties properties) {
        return TenureClient.connect(properties.clientOptions());
    }

    @Bean
    @ConditionalOnMissingBean
    TenureObserver tenureObserver() {
        return TenureObserver.NONE;
    }

    @Bean
    Elections tenureElections(
            TenureClient client, TenureProperties properties, LeaderMethods methods, TenureObserver observer) {
        return new Elections(client, properties.session().options(), methods, observer);
    }

    // Advice is made before all other beans: what it needs it asks for when it is first called.

    @Bean
    @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
    static LeaderMethods tenureLeaderMethods(ConfigurableBeanFactory factory) {
        return new LeaderMethods(factory);
    }

    @Bean
    @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
    static LockMethods tenureLockMethods(ConfigurableBeanFactory factory) {
        return new LockMethods(factory);
    }

    @Bean
    @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
    static Advisor tenureLeaderAdvisor(LeaderMethods methods, ObjectProvider<Elections> elections) {
        DefaultPointcutAdvisor advisor = new DefaultPointcutAdvisor(
                AnnotationMatchingPointcut.forMethodAnnotation(LeaderOnly.class),
                new LeaderInterceptor(methods, elections));
        advisor.setOrder(DistributedLock.ORDER - 1);
        return advisor;
    }

    @Bean
    @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
    static Advisor tenureLockAdvisor(
            ConfigurableBeanFactory factory,
            LockMethods methods,
            ObjectProvider<TenureClient> client,
            ObjectProvider<TenureProperties> properties,
            ObjectProvider<TenureObserver> observer) {
        DefaultPointcutAdvisor advisor = new DefaultPointcutAdvisor(
                AnnotationMatchingPointcut.forMethodAnnotation(DistributedLock.class),
                new LockInterceptor(methods, new BeanFactoryResolver(factory), client, properties, observer));
        advisor.setOrder(DistributedLock.ORDER);
        return advisor;
    }
}
